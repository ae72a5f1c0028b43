import test from 'node:test';
import assert from 'node:assert';
import { Queue } from '../src/index.js';

function held(queue) {
  let end;
  const promise = queue.push(() => new Promise((resolve) => { end = resolve; }));
  return { promise, end: () => end() };
}

test('a waiting job', async () => {
  const queue = new Queue();
  const failed = [];
  queue.on('failed', (error) => failed.push(error.message));
  const first = held(queue);
  const abort = new AbortController();
  let ran = false;
  const second = queue.push(() => { ran = true; }, { signal: abort.signal });
  const third = queue.push(() => 3);
  assert.strictEqual(queue.size, 2);
  abort.abort(new Error('enough'));
  assert.strictEqual(queue.size, 1);
  await assert.rejects(second, /enough/);
  assert.deepStrictEqual(failed, ['enough']);
  first.end();
  assert.strictEqual(await third, 3);
  await queue.idle();
  assert.ok(!ran);
});

test('the order of the others stays', async () => {
  const queue = new Queue();
  queue.pause();
  const seen = [];
  const abort = new AbortController();
  const jobs = [];
  for (let i = 0; i < 20; i += 1) {
    jobs.push(queue.push(() => seen.push(i), { priority: i % 4, signal: i % 3 ? undefined : abort.signal }).catch(() => {}));
  }
  abort.abort();
  queue.resume();
  await queue.idle();
  const wanted = [...Array(20).keys()].filter((i) => i % 3).sort((a, b) => b % 4 - a % 4 || a - b);
  assert.deepStrictEqual(seen, wanted);
});

test('idle does not wait for it', async () => {
  const queue = new Queue();
  queue.pause();
  const abort = new AbortController();
  const job = queue.push(() => 1, { signal: abort.signal });
  const idle = queue.idle();
  abort.abort();
  await assert.rejects(job, { name: 'AbortError' });
  await idle;
});

test('already aborted', async () => {
  const queue = new Queue();
  await assert.rejects(queue.push(() => assert.fail(), { signal: AbortSignal.abort(new Error('late')) }), /late/);
  assert.strictEqual(queue.size, 0);
});

test('a running job gets the signal', async () => {
  const queue = new Queue();
  const abort = new AbortController();
  const job = queue.push(async ({ signal }) => {
    abort.abort();
    return signal.aborted;
  }, { signal: abort.signal });
  assert.strictEqual(await job, true);
  assert.strictEqual(await queue.push(({ signal }) => signal), undefined);
});

test('the listener is taken away', async () => {
  const queue = new Queue();
  const listeners = new Set();
  const signal = {
    aborted: false,
    addEventListener: (name, listener) => listeners.add(listener),
    removeEventListener: (name, listener) => listeners.delete(listener),
    throwIfAborted: () => {},
  };
  await queue.push(() => assert.strictEqual(listeners.size, 0), { signal });
  assert.strictEqual(listeners.size, 0);
});
