/** One limit for each key, made when the key is first seen. */
export class Limiter {
  constructor(make) {
    this.make = make;
    this.limits = new Map();
  }

  of(key) {
    let limit = this.limits.get(key);
    if (!limit) {
      limit = this.make(key);
      this.limits.set(key, limit);
    }
    return limit;
  }

  allow(key, count = 1) {
    return this.of(key).take(count);
  }

  forget(key) {
    return this.limits.delete(key);
  }
}
