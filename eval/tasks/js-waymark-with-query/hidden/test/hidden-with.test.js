import test from 'node:test';
import assert from 'node:assert';
import { withQuery } from '../src/index.js';
import * as query from '../src/query.js';

test('after a question mark or an ampersand', () => {
  assert.strictEqual(withQuery('/users', { tab: 'posts' }), '/users?tab=posts');
  assert.strictEqual(withQuery('/users?page=2', { tab: 'a b' }), '/users?page=2&tab=a%20b');
  assert.strictEqual(withQuery('/', { a: 1, b: ['x', 'y'] }), '/?a=1&b=x&b=y');
});

test('before a hash', () => {
  assert.strictEqual(withQuery('/users#top', { tab: 'posts' }), '/users?tab=posts#top');
  assert.strictEqual(withQuery('/users?page=2#top', { tab: 'posts' }), '/users?page=2&tab=posts#top');
});

test('nothing to append', () => {
  assert.strictEqual(withQuery('/users', {}), '/users');
  assert.strictEqual(withQuery('/users?page=2#top', { a: null, b: undefined }), '/users?page=2#top');
});

test('it stands in src/query.js', () => {
  assert.strictEqual(query.withQuery, withQuery);
});
