/** So many at once, refilled at a steady rate. */
export class TokenBucket {
  constructor({ capacity, perSecond, clock = Date.now }) {
    if (!(capacity > 0)) throw new RangeError('capacity must be positive');
    if (!(perSecond > 0)) throw new RangeError('perSecond must be positive');
    this.capacity = capacity;
    this.perSecond = perSecond;
    this.clock = clock;
    this.tokens = capacity;
    this.last = clock();
  }

  refill() {
    const now = this.clock();
    const fresh = ((now - this.last) / 1000) * this.perSecond;
    this.tokens = Math.min(this.capacity, this.tokens + fresh);
    this.last = now;
  }

  /** Takes `count` tokens if they are there. */
  take(count = 1) {
    this.refill();
    if (this.tokens < count) return false;
    this.tokens -= count;
    return true;
  }

  remaining() {
    this.refill();
    return Math.floor(this.tokens);
  }

  /** Milliseconds until `count` tokens are there; 0 = now. */
  wait(count = 1) {
    this.refill();
    if (this.tokens >= count) return 0;
    return Math.ceil(((count - this.tokens) / this.perSecond) * 1000);
  }
}
