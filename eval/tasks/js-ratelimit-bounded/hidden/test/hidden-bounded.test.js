import test from 'node:test';
import assert from 'node:assert';
import { Limiter, TokenBucket } from '../src/index.js';
import { clock } from './clock.js';

const make = () => new TokenBucket({ capacity: 1, perSecond: 1, clock: clock() });

test('the key used longest ago goes', () => {
  const limiter = new Limiter(make, { max: 2 });
  assert.ok(limiter.allow('a'));
  assert.ok(limiter.allow('b'));
  assert.ok(!limiter.allow('a'));
  assert.ok(limiter.allow('c'));
  assert.strictEqual(limiter.size, 2);
  assert.ok(!limiter.allow('a'), 'a was used after b and is still known');
  assert.ok(limiter.allow('b'), 'b was forgotten');
});

test('of counts as use', () => {
  const limiter = new Limiter(make, { max: 2 });
  const a = limiter.of('a');
  limiter.of('b');
  limiter.of('a');
  limiter.of('c');
  assert.strictEqual(limiter.of('a'), a);
});

test('without the option it grows', () => {
  const limiter = new Limiter(make);
  for (let i = 0; i < 50; i += 1) limiter.allow(i);
  assert.strictEqual(limiter.size, 50);
  limiter.forget(7);
  assert.strictEqual(limiter.size, 49);
});

test('max must be a whole number above zero', () => {
  for (const max of [0, -1, 1.5, NaN, '3']) assert.throws(() => new Limiter(make, { max }), RangeError);
});
