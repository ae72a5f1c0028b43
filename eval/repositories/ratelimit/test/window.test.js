import test from 'node:test';
import assert from 'node:assert';
import { SlidingWindow } from '../src/index.js';
import { clock } from './clock.js';

test('at most so many within the span', () => {
  const time = clock();
  const window = new SlidingWindow({ limit: 2, span: 1000, clock: time });
  assert.ok(window.take());
  time.forward(600);
  assert.ok(window.take());
  assert.ok(!window.take());
  assert.strictEqual(window.wait(), 400);
  time.forward(400);
  assert.ok(window.take());
  assert.strictEqual(window.remaining(), 0);
});
