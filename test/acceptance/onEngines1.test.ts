import { withEngines } from './withEngines.js';

withEngines({ share: 0, shares: 4 });
