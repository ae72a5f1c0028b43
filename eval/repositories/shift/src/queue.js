import { Events } from './events.js';
import { Heap } from './heap.js';

export class Queue {
  constructor({ concurrency = 1 } = {}) {
    if (!Number.isInteger(concurrency) || concurrency < 1) throw new RangeError('concurrency must be 1 or more');
    this.concurrency = concurrency;
    this.running = 0;
    this.count = 0;
    this.paused = false;
    this.events = new Events();
    this.waiting = [];
    // Higher priorities first, and in the order of coming where they are the same.
    this.jobs = new Heap((a, b) => b.priority - a.priority || a.number - b.number);
  }

  get size() {
    return this.jobs.size;
  }

  on(name, listener) {
    return this.events.on(name, listener);
  }

  /** A promise of what the job returns. */
  push(run, { priority = 0 } = {}) {
    return new Promise((resolve, reject) => {
      this.count += 1;
      this.jobs.push({ run, priority, number: this.count, resolve, reject });
      this.next();
    });
  }

  pause() {
    this.paused = true;
  }

  resume() {
    this.paused = false;
    this.next();
  }

  /** A promise that is kept when nothing runs and nothing waits. */
  idle() {
    if (!this.running && !this.jobs.size) return Promise.resolve();
    return new Promise((resolve) => {
      this.waiting.push(resolve);
    });
  }

  next() {
    while (!this.paused && this.running < this.concurrency && this.jobs.size) {
      this.start(this.jobs.pop());
    }
    if (!this.running && !this.jobs.size) {
      for (const resolve of this.waiting.splice(0)) resolve();
    }
  }

  async start(job) {
    this.running += 1;
    try {
      const value = await job.run();
      job.resolve(value);
      this.events.emit('done', value);
    } catch (error) {
      job.reject(error);
      this.events.emit('failed', error);
    } finally {
      this.running -= 1;
      this.next();
    }
  }
}
