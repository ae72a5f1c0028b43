export { TokenBucket } from './bucket.js';
export { SlidingWindow } from './window.js';
export { Limiter } from './limiter.js';
export { headers } from './headers.js';
