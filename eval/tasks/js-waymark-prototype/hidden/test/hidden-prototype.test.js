import test from 'node:test';
import assert from 'node:assert';
import { Router, parseQuery } from '../src/index.js';

const own = (object) => Object.entries(Object.getOwnPropertyDescriptors(object)).map(([key, { value }]) => [key, value]);

test('keys of every object', () => {
  assert.deepStrictEqual(own(parseQuery('constructor=1')), [['constructor', '1']]);
  assert.deepStrictEqual(own(parseQuery('toString=1&toString=2')), [['toString', ['1', '2']]]);
  assert.deepStrictEqual(own(parseQuery('hasOwnProperty=1&a=2')), [['hasOwnProperty', '1'], ['a', '2']]);
});

test('__proto__', () => {
  assert.strictEqual(parseQuery('__proto__=x').__proto__, 'x');
  assert.deepStrictEqual(own(parseQuery('__proto__=x&__proto__=y')), [['__proto__', ['x', 'y']]]);
  assert.strictEqual(({}).x, undefined);
});

test('parts of paths', () => {
  const { params } = new Router().add('GET', '/x/:__proto__/:constructor', 'h').match('GET', '/x/1/2');
  assert.deepStrictEqual(own(params), [['__proto__', '1'], ['constructor', '2']]);
});

test('plain objects', () => {
  assert.deepStrictEqual(parseQuery('a=1&b=2&b=3'), { a: '1', b: ['2', '3'] });
  assert.strictEqual(Object.getPrototypeOf(parseQuery('a=1')), Object.prototype);
});
