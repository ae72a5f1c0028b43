import test from 'node:test';
import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import * as all from '../src/index.js';
import { constant, exponential, retry } from '../src/retry.js';

async function pauses(options) {
  const seen = [];
  await retry(() => { throw new Error('no'); }, { times: 4, ...options, wait: async (ms) => { seen.push(ms); } }).catch(() => {});
  return seen;
}

test('the makers', () => {
  assert.deepStrictEqual([1, 2, 3, 4].map(exponential(5)), [5, 10, 20, 40]);
  assert.deepStrictEqual([1, 2, 3].map(constant(7)), [7, 7, 7]);
});

test('retry uses them', async () => {
  assert.deepStrictEqual(await pauses({}), [100, 200, 400]);
  assert.deepStrictEqual(await pauses({ delay: constant(3) }), [3, 3, 3]);
  assert.deepStrictEqual(await pauses({ delay: (attempt) => attempt }), [1, 2, 3]);
  assert.deepStrictEqual(await pauses({ pause: 10 }), [10, 20, 40]);
  assert.deepStrictEqual(await pauses({ pause: 10, delay: constant(1) }), [1, 1, 1]);
});

test('exported, and one formula', () => {
  assert.strictEqual(all.exponential, exponential);
  assert.strictEqual(all.constant, constant);
  const text = readFileSync(new URL('../src/retry.js', import.meta.url), 'utf8');
  assert.ok(text.split('2 **').length + text.split('Math.pow').length <= 3);
});
