import { decode } from './decode.js';
import { compile } from './pattern.js';
import { parseQuery } from './query.js';

export class Router {
  constructor() {
    this.routes = [];
  }

  add(method, pattern, handler) {
    const { regexp, names } = compile(pattern);
    this.routes.push({ method: method.toUpperCase(), pattern, regexp, names, handler });
    return this;
  }

  /** What handles a request, or null. */
  match(method, url) {
    const [path, ...rest] = url.split('#')[0].split('?');
    for (const route of this.routes) {
      if (route.method !== method.toUpperCase()) continue;
      const found = route.regexp.exec(path);
      if (!found) continue;
      const params = {};
      route.names.forEach((name, index) => {
        params[name] = decode(found[index + 1]);
      });
      return { handler: route.handler, params, query: parseQuery(rest.join('?')) };
    }
    return null;
  }

  /** Methods that a path has routes for, for the header `Allow`. */
  allowed(url) {
    const path = url.split('#')[0].split('?')[0];
    const methods = new Set();
    for (const route of this.routes) {
      if (route.regexp.test(path)) methods.add(route.method);
    }
    return [...methods].sort();
  }
}
