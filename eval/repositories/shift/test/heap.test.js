import test from 'node:test';
import assert from 'node:assert';
import { Heap } from '../src/index.js';

test('the smallest first', () => {
  const heap = new Heap((a, b) => a - b);
  for (const item of [5, 3, 8, 1, 9, 2, 7, 3]) heap.push(item);
  const out = [];
  while (heap.size) out.push(heap.pop());
  assert.deepStrictEqual(out, [1, 2, 3, 3, 5, 7, 8, 9]);
  assert.strictEqual(heap.pop(), undefined);
});
