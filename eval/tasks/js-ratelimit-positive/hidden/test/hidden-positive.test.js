import test from 'node:test';
import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import * as all from '../src/index.js';
import { positive } from '../src/check.js';

test('positive', () => {
  assert.strictEqual(positive('speed', 2.5), 2.5);
  for (const value of [0, -1, NaN, undefined]) {
    assert.throws(() => positive('speed', value), { name: 'RangeError', message: 'speed must be positive' });
  }
});

test('used by both classes, in place of their own', () => {
  for (const file of ['bucket', 'window']) {
    const text = readFileSync(new URL(`../src/${file}.js`, import.meta.url), 'utf8');
    assert.match(text, /from '\.\/check\.js'|from "\.\/check\.js"/);
    assert.doesNotMatch(text, /RangeError/);
    assert.ok(text.split('positive(').length >= 3);
  }
});

test('same messages, same exports', () => {
  assert.throws(() => new all.TokenBucket({ capacity: 0, perSecond: 1 }), { message: 'capacity must be positive' });
  assert.throws(() => new all.TokenBucket({ capacity: 1, perSecond: -1 }), { message: 'perSecond must be positive' });
  assert.throws(() => new all.SlidingWindow({ limit: 0, span: 1 }), { message: 'limit must be positive' });
  assert.throws(() => new all.SlidingWindow({ limit: 1 }), { message: 'span must be positive' });
  assert.deepStrictEqual(Object.keys(all).sort(), ['Limiter', 'SlidingWindow', 'TokenBucket', 'headers']);
});
