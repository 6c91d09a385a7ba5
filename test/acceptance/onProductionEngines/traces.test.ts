import { repeatOnProductionEngines } from './repeat.js';

repeatOnProductionEngines('traces');
