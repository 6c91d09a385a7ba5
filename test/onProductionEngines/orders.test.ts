import { repeatOnProductionEngines } from './repeat.js';

// In one file, since each file starts engines of its own. Of access, what is read from a read model.
repeatOnProductionEngines(['orders', 'access/activity.test.ts']);
