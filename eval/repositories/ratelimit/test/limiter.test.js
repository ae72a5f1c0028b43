import test from 'node:test';
import assert from 'node:assert';
import { Limiter, TokenBucket, headers } from '../src/index.js';
import { clock } from './clock.js';

test('each key has its own limit', () => {
  const time = clock();
  const limiter = new Limiter(() => new TokenBucket({ capacity: 1, perSecond: 1, clock: time }));
  assert.ok(limiter.allow('a'));
  assert.ok(!limiter.allow('a'));
  assert.ok(limiter.allow('b'));
  assert.ok(limiter.forget('a'));
  assert.ok(limiter.allow('a'));
});

test('headers', () => {
  const bucket = new TokenBucket({ capacity: 1, perSecond: 0.5, clock: clock() });
  assert.deepStrictEqual(headers(bucket), { 'RateLimit-Limit': '1', 'RateLimit-Remaining': '1' });
  bucket.take();
  assert.deepStrictEqual(headers(bucket), { 'RateLimit-Limit': '1', 'RateLimit-Remaining': '0', 'Retry-After': '2' });
});
