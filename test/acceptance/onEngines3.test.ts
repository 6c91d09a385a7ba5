import { withEngines } from './withEngines.js';

withEngines({ share: 2, shares: 4 });
