/** Listeners by name. */
export class Events {
  constructor() {
    this.listeners = new Map();
  }

  /** Returns a function that takes the listener away again. */
  on(name, listener) {
    if (!this.listeners.has(name)) this.listeners.set(name, new Set());
    this.listeners.get(name).add(listener);
    return () => this.listeners.get(name).delete(listener);
  }

  emit(name, ...values) {
    for (const listener of this.listeners.get(name) ?? []) listener(...values);
  }
}
