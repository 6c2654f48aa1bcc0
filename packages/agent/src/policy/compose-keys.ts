/**
 * Keys of a document in its normal form that this policy has an opinion on, or needs none. A compose newer than this agent may know
 * more, and what the policy can't judge is refused.
 */
export const KNOWN_KEYS = {
  document: ['name', 'version', 'services', 'networks', 'volumes', 'configs', 'secrets'],
  service: [
    ...[
      'annotations',
      'attach',
      'blkio_config',
      'cap_add',
      'cap_drop',
      'cgroup',
      'cgroup_parent',
      'command',
      'configs',
    ],
    ...['container_name', 'cpu_count', 'cpu_percent', 'cpu_period', 'cpu_quota', 'cpu_rt_period', 'cpu_rt_runtime'],
    ...['cpu_shares', 'cpus', 'cpuset', 'depends_on', 'deploy', 'device_cgroup_rules', 'devices', 'dns', 'dns_opt'],
    ...['dns_search', 'domainname', 'entrypoint', 'environment', 'expose', 'external_links', 'extra_hosts', 'gpus'],
    ...['group_add', 'healthcheck', 'hostname', 'image', 'init', 'ipc', 'isolation', 'labels', 'links', 'logging'],
    ...['mac_address', 'mem_limit', 'mem_reservation', 'mem_swappiness', 'memswap_limit', 'network_mode', 'networks'],
    ...['oom_kill_disable', 'oom_score_adj', 'pid', 'pids_limit', 'platform', 'ports', 'post_start', 'pre_stop'],
    ...['privileged', 'profiles', 'pull_policy', 'pull_refresh_after', 'read_only', 'restart', 'runtime', 'scale'],
    ...['secrets', 'security_opt', 'shm_size', 'stdin_open', 'stop_grace_period', 'stop_signal', 'storage_opt'],
    ...['sysctls', 'tmpfs', 'tty', 'ulimits', 'user', 'userns_mode', 'uts', 'volumes', 'volumes_from', 'working_dir'],
  ],
  mount: ['type', 'source', 'target', 'read_only', 'consistency', 'bind', 'volume', 'tmpfs', 'image'],
  bind: ['propagation', 'create_host_path', 'selinux', 'recursive'],
  mountedVolume: ['nocopy', 'subpath', 'labels'],
  device: ['source', 'target', 'permissions'],
  hook: ['command', 'user', 'privileged', 'working_dir', 'environment'],
  deploy: [
    ...['mode', 'endpoint_mode', 'replicas', 'labels', 'update_config', 'rollback_config', 'resources'],
    ...['restart_policy', 'placement'],
  ],
  volume: ['name', 'driver', 'driver_opts', 'external', 'labels'],
  network: [
    ...['name', 'driver', 'driver_opts', 'ipam', 'external', 'internal', 'attachable', 'labels', 'enable_ipv4'],
    'enable_ipv6',
  ],
  /** Of a config or a secret. */
  text: ['name', 'content', 'labels', 'environment', 'file', 'external', 'driver', 'driver_opts', 'template_driver'],
} as const satisfies Record<string, readonly string[]>;

/** What a document of this kind would do, where the reason is known. */
export const REFUSED_KEYS: Readonly<Record<string, string>> = {
  use_api_socket: 'gives the container the Docker Engine itself',
  provider: "runs a program of the robot's, outside of any container",
  models: "runs a program of the robot's, outside of any container",
  build: 'is built from files that the robot does not have',
  develop: 'is for development, with files that the robot does not have',
  credential_spec: 'is read from a file of the robot',
};
