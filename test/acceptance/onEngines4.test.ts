import { withEngines } from './withEngines.js';

withEngines({ share: 3, shares: 4 });
