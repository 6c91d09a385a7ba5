/**
 * The protocol double of a cluster of three as a process of its own. It sends its URL, and does what it is sent: `hang`
 * or `die` of the leader or of a follower, `elect` another leader, `thaw` what hangs. It answers when that is done.
 */
require('./typescript.cjs');
const { ClusterDouble } = require('../../test/engines/clusterDouble.ts');

void ClusterDouble.start().then((cluster) => {
  const { leader } = cluster;
  const [follower, next] = cluster.followers;
  const orders = {
    'leader hangs': () => leader.proxy.freeze(true),
    'leader dies': () => leader.double.kill(),
    'follower dies': () => follower.double.kill(),
    elect: () => cluster.elect(next, [leader]),
    thaw: () => leader.proxy.freeze(false),
  };
  process.on('message', async (order) => {
    await orders[order]();
    process.send('done');
  });
  process.send({ url: cluster.url });
});
process.once('disconnect', () => process.exit(0));
