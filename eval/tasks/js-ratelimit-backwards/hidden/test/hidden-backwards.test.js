import test from 'node:test';
import assert from 'node:assert';
import { TokenBucket } from '../src/index.js';
import { clock } from './clock.js';

test('nothing is lost', () => {
  const time = clock(3600000);
  const bucket = new TokenBucket({ capacity: 10, perSecond: 2, clock: time });
  bucket.take(4);
  time.forward(-3600000);
  assert.strictEqual(bucket.remaining(), 6);
});

test('the usual rate from the new time on', () => {
  const time = clock(3600000);
  const bucket = new TokenBucket({ capacity: 10, perSecond: 2, clock: time });
  bucket.take(10);
  time.forward(-3600000);
  assert.strictEqual(bucket.wait(), 500);
  time.forward(500);
  assert.ok(bucket.take());
  assert.ok(!bucket.take());
});
