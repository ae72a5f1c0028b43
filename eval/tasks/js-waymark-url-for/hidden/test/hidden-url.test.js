import test from 'node:test';
import assert from 'node:assert';
import { Router } from '../src/index.js';

const router = new Router()
  .add('GET', '/', 'home', { name: 'home' })
  .add('GET', '/users/:id', 'show', { name: 'user' })
  .add('GET', '/users/:id/posts/:post', 'post', { name: 'post' })
  .add('GET', '/files/*path', 'file', { name: 'file' })
  .add('GET', '/all/*', 'all', { name: 'all' })
  .add('GET', '/plain', 'plain');

test('parts and query', () => {
  assert.strictEqual(router.urlFor('home'), '/');
  assert.strictEqual(router.urlFor('home', { a: [1, 2] }), '/?a=1&a=2');
  assert.strictEqual(router.urlFor('user', { id: 'a b' }), '/users/a%20b');
  assert.strictEqual(router.urlFor('user', { id: 0 }), '/users/0');
  assert.strictEqual(router.urlFor('user', { id: 'a/b', tab: 'posts', none: null }), '/users/a%2Fb?tab=posts');
  assert.strictEqual(router.urlFor('post', { post: 2, id: 1 }), '/users/1/posts/2');
});

test('the rest of a path', () => {
  assert.strictEqual(router.urlFor('file', { path: 'a/b c' }), '/files/a/b%20c');
  assert.strictEqual(router.urlFor('file'), '/files/');
  assert.strictEqual(router.urlFor('all', { rest: 'x/y' }), '/all/x/y');
});

test('what is missing', () => {
  assert.throws(() => router.urlFor('user', {}), { name: 'TypeError', message: /id/ });
  assert.throws(() => router.urlFor('user', { id: '' }), TypeError);
  assert.throws(() => router.urlFor('post', { id: 1 }), { name: 'TypeError', message: /post/ });
  assert.throws(() => router.urlFor('nobody'), TypeError);
  assert.throws(() => router.add('GET', '/other', 'x', { name: 'user' }), TypeError);
});

test('matching is what it was', () => {
  const url = router.urlFor('file', { path: 'a/b c', v: 2 });
  assert.deepStrictEqual(router.match('GET', url), { handler: 'file', params: { path: 'a/b c' }, query: { v: '2' } });
  assert.strictEqual(router.match('GET', '/plain').handler, 'plain');
});
