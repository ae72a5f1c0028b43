'use strict';

const { format } = require('./format');
const { parse } = require('./parse');
const { fromObjects, toObjects } = require('./objects');

module.exports = { format, parse, fromObjects, toObjects };
