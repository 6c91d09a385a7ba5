import { repeatOnProductionEngines } from './repeat.js';

repeatOnProductionEngines(['webhooks']);
