import test from 'node:test';
import assert from 'node:assert';
import { Heap, Queue } from '../src/index.js';

test('every order of seven', () => {
  const orders = (items) => (items.length < 2 ? [items] : items.flatMap((item, at) => orders(items.filter((_, i) => i !== at)).map((rest) => [item, ...rest])));
  for (const order of orders([1, 2, 3, 4, 5, 6, 7])) {
    const heap = new Heap((a, b) => a - b);
    order.forEach((item) => heap.push(item));
    const out = [];
    while (heap.size) out.push(heap.pop());
    assert.deepStrictEqual(out, [1, 2, 3, 4, 5, 6, 7], String(order));
  }
});

test('pushed and popped in turn', () => {
  const heap = new Heap((a, b) => a - b);
  [9, 4, 6].forEach((item) => heap.push(item));
  assert.strictEqual(heap.pop(), 4);
  [1, 8, 5].forEach((item) => heap.push(item));
  assert.deepStrictEqual([heap.pop(), heap.pop(), heap.pop()], [1, 5, 6]);
});

test('a queue of many', async () => {
  const queue = new Queue();
  queue.pause();
  const seen = [];
  for (let i = 0; i < 60; i += 1) queue.push(() => seen.push(i), { priority: (i * 7) % 11 });
  queue.resume();
  await queue.idle();
  const wanted = [...Array(60).keys()].sort((a, b) => ((b * 7) % 11) - ((a * 7) % 11) || a - b);
  assert.deepStrictEqual(seen, wanted);
});
