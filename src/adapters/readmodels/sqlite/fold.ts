export { fold } from '../../../domain/assetTypes/fold.js';
