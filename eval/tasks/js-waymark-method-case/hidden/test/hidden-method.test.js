import test from 'node:test';
import assert from 'node:assert';
import { Router } from '../src/index.js';

test('found, however the method is written', () => {
  const router = new Router().add('get', '/', 'home').add('Put', '/users/:id', 'change').add('DELETE', '/users/:id', 'remove');
  for (const method of ['GET', 'get', 'Get']) {
    assert.deepStrictEqual(router.match(method, '/'), { handler: 'home', params: {}, query: {} });
  }
  assert.strictEqual(router.match('PUT', '/users/7').handler, 'change');
  assert.strictEqual(router.match('put', '/users/7').handler, 'change');
  assert.strictEqual(router.match('delete', '/users/7').handler, 'remove');
  assert.strictEqual(router.match('post', '/users/7'), null);
});

test('allowed lists capitals', () => {
  const router = new Router().add('get', '/', 'home').add('Put', '/users/:id', 'change').add('DELETE', '/users/:id', 'remove');
  assert.deepStrictEqual(router.allowed('/'), ['GET']);
  assert.deepStrictEqual(router.allowed('/users/7'), ['DELETE', 'PUT']);
});

test('each only once, and the first route counts', () => {
  const router = new Router().add('get', '/', 'a').add('GET', '/', 'b');
  assert.deepStrictEqual(router.allowed('/'), ['GET']);
  assert.strictEqual(router.match('GET', '/').handler, 'a');
});
