/** One URL for each host of `amqp://user:password@a,b:5673/vhost`. */
export function urlsOfHosts(url: string): readonly string[] {
  const begin = url.indexOf('://') + 3;
  const length = url.slice(begin).search(/[/?#]/);
  const end = length < 0 ? url.length : begin + length;
  // A password may have any character but these.
  const hostsBegin = Math.max(begin, url.lastIndexOf('@', end) + 1);
  const [before, hosts, after] = [url.slice(0, hostsBegin), url.slice(hostsBegin, end), url.slice(end)];
  return hosts.split(',').map((host) => before + host.trim() + after);
}
