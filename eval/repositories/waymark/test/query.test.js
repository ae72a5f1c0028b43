import test from 'node:test';
import assert from 'node:assert';
import { parseQuery, buildQuery } from '../src/index.js';

test('parseQuery', () => {
  assert.deepStrictEqual(parseQuery('?a=1&b=2&b=3&c'), { a: '1', b: ['2', '3'], c: '' });
  assert.deepStrictEqual(parseQuery('q=a+b%20c%26&x=%E0'), { q: 'a b c&', x: '%E0' });
  assert.deepStrictEqual(parseQuery('a=b=c'), { a: 'b=c' });
  assert.deepStrictEqual(parseQuery(''), {});
});

test('buildQuery', () => {
  assert.strictEqual(buildQuery({ a: 1, b: ['x y', '&'], c: null, d: undefined }), 'a=1&b=x%20y&b=%26');
});
