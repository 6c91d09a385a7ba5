import { withEngines } from './withEngines.js';

withEngines({ share: 1, shares: 4 });
