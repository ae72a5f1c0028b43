import test from 'node:test';
import assert from 'node:assert';
import { Router } from '../src/index.js';

const router = new Router()
  .add('GET', '/', 'home')
  .add('GET', '/users/new', 'new')
  .add('GET', '/users/:id', 'show')
  .add('PUT', '/users/:id', 'change')
  .add('GET', '/files/*path', 'file')
  .add('GET', '/a.b', 'dot');

test('in the order of adding', () => {
  assert.strictEqual(router.match('get', '/users/new').handler, 'new');
  assert.deepStrictEqual(router.match('GET', '/users/7?tab=posts#top'), { handler: 'show', params: { id: '7' }, query: { tab: 'posts' } });
});

test('the rest of a path', () => {
  assert.deepStrictEqual(router.match('GET', '/files/a/b%20c').params, { path: 'a/b c' });
});

test('nothing fits', () => {
  assert.strictEqual(router.match('GET', '/users/7/posts'), null);
  assert.strictEqual(router.match('DELETE', '/users/7'), null);
  assert.strictEqual(router.match('GET', '/aXb'), null);
});

test('allowed methods', () => {
  assert.deepStrictEqual(router.allowed('/users/7?x'), ['GET', 'PUT']);
  assert.deepStrictEqual(router.allowed('/none'), []);
});
