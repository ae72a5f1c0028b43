'use strict';

module.exports = { Matrix: require('./matrix').Matrix, solve: require('./solve').solve };
