import test from 'node:test';
import assert from 'node:assert';
import { Queue } from '../src/index.js';

test('isIdle', async () => {
  const queue = new Queue();
  assert.strictEqual(queue.isIdle, true);
  let end;
  const result = queue.push(() => new Promise((resolve) => { end = resolve; }));
  assert.strictEqual(queue.isIdle, false);
  end(5);
  assert.strictEqual(await result, 5);
  await queue.idle();
  assert.strictEqual(queue.isIdle, true);
});

test('a job that waits', async () => {
  const queue = new Queue();
  queue.pause();
  queue.push(() => 1);
  assert.strictEqual(queue.isIdle, false);
  queue.resume();
  await queue.idle();
  assert.strictEqual(queue.isIdle, true);
});

test('a getter that both use', () => {
  assert.strictEqual(typeof Object.getOwnPropertyDescriptor(Queue.prototype, 'isIdle')?.get, 'function');
  for (const method of [Queue.prototype.idle, Queue.prototype.next]) {
    assert.match(method.toString(), /\bisIdle\b/);
    assert.ok(!method.toString().includes('!this.running && !this.jobs.size'));
  }
});

test('idle waits for the last job', async () => {
  const queue = new Queue({ concurrency: 2 });
  await queue.idle();
  const seen = [];
  for (const name of ['a', 'b', 'c']) {
    queue.push(async () => {
      await null;
      seen.push(name);
    });
  }
  await Promise.all([queue.idle(), queue.idle()]);
  assert.deepStrictEqual(seen, ['a', 'b', 'c']);
  assert.strictEqual(queue.size, 0);
});
