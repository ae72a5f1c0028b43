/** The smallest item first, by a function that compares two. */
export class Heap {
  constructor(compare) {
    this.compare = compare;
    this.items = [];
  }

  get size() {
    return this.items.length;
  }

  push(item) {
    this.items.push(item);
    let at = this.items.length - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.compare(this.items[parent], this.items[at]) <= 0) break;
      this.swap(parent, at);
      at = parent;
    }
  }

  pop() {
    if (!this.items.length) return undefined;
    const first = this.items[0];
    const last = this.items.pop();
    if (this.items.length) {
      this.items[0] = last;
      this.sink(0);
    }
    return first;
  }

  sink(at) {
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.items.length && this.compare(this.items[child], this.items[least]) < 0) least = child;
      }
      if (least === at) return;
      this.swap(least, at);
      at = least;
    }
  }

  swap(a, b) {
    [this.items[a], this.items[b]] = [this.items[b], this.items[a]];
  }
}
