import { repeatOnProductionEngines } from './repeat.js';

repeatOnProductionEngines(['tables']);
