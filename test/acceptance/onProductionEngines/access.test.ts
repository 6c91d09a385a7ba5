import { repeatOnProductionEngines } from './repeat.js';

repeatOnProductionEngines('access');
