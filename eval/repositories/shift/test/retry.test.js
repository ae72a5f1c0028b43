import test from 'node:test';
import assert from 'node:assert';
import { retry } from '../src/index.js';

test('tried again with growing pauses', async () => {
  const pauses = [];
  const value = await retry((attempt) => {
    if (attempt < 4) throw new Error('no');
    return attempt;
  }, { times: 4, pause: 10, wait: async (ms) => { pauses.push(ms); } });
  assert.strictEqual(value, 4);
  assert.deepStrictEqual(pauses, [10, 20, 40]);
});

test('the last error', async () => {
  await assert.rejects(retry((attempt) => { throw new Error(`no ${attempt}`); }, { times: 2, pause: 0 }), /no 2/);
});
