import test from 'node:test';
import assert from 'node:assert';
import { Limiter, SlidingWindow } from '../src/index.js';
import { clock } from './clock.js';

test('the new name only', () => {
  const window = new SlidingWindow({ limit: 2, span: 1000, clock: clock() });
  assert.strictEqual(typeof window.dropOld, 'function');
  assert.strictEqual(window.forget, undefined);
});

test('all three call it', () => {
  const window = new SlidingWindow({ limit: 2, span: 1000, clock: clock() });
  const drop = window.dropOld;
  let calls = 0;
  window.dropOld = () => {
    calls += 1;
    return drop.call(window);
  };
  for (const method of ['take', 'remaining', 'wait']) {
    const before = calls;
    window[method]();
    assert.ok(calls > before, method);
  }
});

test('drops what is too old', () => {
  const time = clock();
  const window = new SlidingWindow({ limit: 2, span: 1000, clock: time });
  assert.ok(window.take(2));
  time.forward(999);
  window.dropOld();
  assert.strictEqual(window.remaining(), 0);
  assert.strictEqual(window.wait(), 1);
  time.forward(1);
  window.dropOld();
  assert.strictEqual(window.remaining(), 2);
  assert.strictEqual(window.wait(), 0);
  assert.strictEqual(window.wait(3), Infinity);
});

test('Limiter keeps its own', () => {
  const limiter = new Limiter(() => new SlidingWindow({ limit: 1, span: 1000, clock: clock() }));
  assert.ok(limiter.allow('a'));
  assert.ok(!limiter.allow('a'));
  assert.strictEqual(limiter.forget('a'), true);
  assert.strictEqual(limiter.forget('a'), false);
  assert.ok(limiter.allow('a'));
});
