'use strict';

module.exports = {
  ...require('./src/case'),
  ...require('./src/trim'),
  ...require('./src/count'),
};
