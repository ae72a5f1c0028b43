import test from 'node:test';
import assert from 'node:assert';
import { Queue } from '../src/index.js';

/** A job that ends when it is told to. */
function job(seen, name) {
  let end;
  const done = new Promise((resolve) => {
    end = () => resolve(name);
  });
  return { run: () => { seen.push(name); return done; }, end };
}

test('so many at a time', async () => {
  const seen = [];
  const queue = new Queue({ concurrency: 2 });
  const [a, b, c] = ['a', 'b', 'c'].map((name) => job(seen, name));
  const results = [a, b, c].map(({ run }) => queue.push(run));
  assert.deepStrictEqual(seen, ['a', 'b']);
  a.end();
  assert.strictEqual(await results[0], 'a');
  await null;
  assert.deepStrictEqual(seen, ['a', 'b', 'c']);
  b.end();
  c.end();
  await queue.idle();
  assert.strictEqual(queue.running, 0);
});

test('urgent ones first, the others in order', async () => {
  const seen = [];
  const queue = new Queue();
  queue.pause();
  for (const [name, priority] of [['a', 0], ['b', 5], ['c', 0], ['d', 5]]) queue.push(() => seen.push(name), { priority });
  queue.resume();
  await queue.idle();
  assert.deepStrictEqual(seen, ['b', 'd', 'a', 'c']);
});

test('a failure is told, and the queue goes on', async () => {
  const queue = new Queue();
  const failed = [];
  const off = queue.on('failed', (error) => failed.push(error.message));
  await assert.rejects(queue.push(() => { throw new Error('no'); }), /no/);
  off();
  await assert.rejects(queue.push(async () => { throw new Error('again'); }), /again/);
  assert.strictEqual(await queue.push(() => 7), 7);
  assert.deepStrictEqual(failed, ['no']);
});

test('concurrency', () => {
  for (const concurrency of [0, -1, 1.5]) assert.throws(() => new Queue({ concurrency }), RangeError);
});
