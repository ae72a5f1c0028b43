import test from 'node:test';
import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import * as waymark from '../src/index.js';
import { splitUrl } from '../src/url.js';

test('splitUrl', () => {
  assert.deepStrictEqual(splitUrl('/a/b?x=1&y=2#top'), { path: '/a/b', query: 'x=1&y=2' });
  assert.deepStrictEqual(splitUrl('/a'), { path: '/a', query: '' });
  assert.deepStrictEqual(splitUrl('/a?x=1?2'), { path: '/a', query: 'x=1?2' });
  assert.deepStrictEqual(splitUrl('/a#x?y'), { path: '/a', query: '' });
  assert.deepStrictEqual(splitUrl(''), { path: '', query: '' });
});

test('exported and used', () => {
  assert.strictEqual(waymark.splitUrl, splitUrl);
  const text = readFileSync(new URL('../src/router.js', import.meta.url), 'utf8');
  assert.doesNotMatch(text, /\.split\(/);
  assert.strictEqual(text.split('splitUrl(').length, 3);
});

test('the router works', () => {
  const router = new waymark.Router().add('GET', '/a', 'h').add('POST', '/a', 'i');
  assert.deepStrictEqual(router.match('GET', '/a?x=1?2#z'), { handler: 'h', params: {}, query: { x: '1?2' } });
  assert.deepStrictEqual(router.allowed('/a#x?y'), ['GET', 'POST']);
});
