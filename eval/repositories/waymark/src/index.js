export { Router } from './router.js';
export { compile } from './pattern.js';
export { parseQuery, buildQuery } from './query.js';
