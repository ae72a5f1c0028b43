export { Queue } from './queue.js';
export { retry } from './retry.js';
export { Heap } from './heap.js';
