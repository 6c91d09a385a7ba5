import { repeatOnProductionEngines } from './repeat.js';

repeatOnProductionEngines('orders');
