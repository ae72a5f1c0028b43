import test from 'node:test';
import assert from 'node:assert';
import { TokenBucket } from '../src/index.js';
import { clock } from './clock.js';

test('so many at once', () => {
  const bucket = new TokenBucket({ capacity: 2, perSecond: 1, clock: clock() });
  assert.ok(bucket.take());
  assert.ok(bucket.take());
  assert.ok(!bucket.take());
});

test('refilled at a steady rate', () => {
  const time = clock();
  const bucket = new TokenBucket({ capacity: 2, perSecond: 2, clock: time });
  bucket.take(2);
  time.forward(400);
  assert.ok(!bucket.take());
  time.forward(100);
  assert.ok(bucket.take());
  time.forward(60000);
  assert.strictEqual(bucket.remaining(), 2);
});

test('how long to wait', () => {
  const bucket = new TokenBucket({ capacity: 4, perSecond: 2, clock: clock() });
  bucket.take(4);
  assert.strictEqual(bucket.wait(), 500);
  assert.strictEqual(bucket.wait(2), 1000);
});
