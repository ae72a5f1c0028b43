/** At most `limit` within the last `span` milliseconds. */
export class SlidingWindow {
  constructor({ limit, span, clock = Date.now }) {
    if (!(limit > 0)) throw new RangeError('limit must be positive');
    if (!(span > 0)) throw new RangeError('span must be positive');
    this.limit = limit;
    this.span = span;
    this.clock = clock;
    this.times = [];
  }

  forget() {
    const oldest = this.clock() - this.span;
    while (this.times.length && this.times[0] <= oldest) this.times.shift();
  }

  take(count = 1) {
    this.forget();
    if (this.times.length + count > this.limit) return false;
    const now = this.clock();
    for (let i = 0; i < count; i += 1) this.times.push(now);
    return true;
  }

  remaining() {
    this.forget();
    return this.limit - this.times.length;
  }

  wait(count = 1) {
    this.forget();
    const tooMany = this.times.length + count - this.limit;
    if (tooMany <= 0) return 0;
    if (count > this.limit) return Infinity;
    return this.times[tooMany - 1] + this.span - this.clock();
  }
}
