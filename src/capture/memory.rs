//! Memory: predicted before a run, measured after it.

use crate::engine::MemoryPlan;
use crate::model::ModelSpec;

/// What a run over `n` tokens will need. The capture is exact; the scratch is the sum of the
/// largest tensors that live at the same time.
#[must_use]
pub fn plan_memory(spec: &ModelSpec, weight_bytes: u64, n: usize) -> MemoryPlan {
    let (n, layers) = (n as u64, spec.layers as u64);
    let (heads, kv_heads) = (spec.heads as u64, spec.kv_heads as u64);
    let qkv = (heads + 2 * kv_heads) * spec.head_dim as u64;
    // q, k, v; lse, both column sums, entropy; hidden norm and maximum; key and value norms.
    let floats = layers * n * (qkv + 4 * heads + 2 + 2 * kv_heads) + n.saturating_sub(1);
    let stream = 3 * n * spec.hidden as u64;
    let mlp = 3 * n * spec.mlp_hidden as u64;
    let logits = n.min(128) * spec.vocab as u64;
    let scratch = stream + logits.max(mlp.max(2 * n * qkv));
    MemoryPlan {
        weight_bytes,
        capture_bytes: 4 * floats,
        scratch_bytes: 4 * scratch,
        available_bytes: available_memory_bytes(),
    }
}

/// Memory that the machine can give away now, in bytes.
#[must_use]
pub fn available_memory_bytes() -> u64 {
    // A system that does not say is taken at its word that nothing is known to be short.
    let Ok(mut system) = sysinfo::System::new() else { return u64::MAX };
    system.refresh_memory();
    let cgroup = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
    system.available_memory().min(cgroup)
}

/// The largest resident size that this process has had, in bytes; its present size where the
/// system does not keep the peak.
#[must_use]
pub fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or_else(current_rss_bytes, |kib| kib * 1024)
}

fn current_rss_bytes() -> u64 {
    let (Ok(pid), Ok(mut system)) = (sysinfo::get_current_pid(), sysinfo::System::new()) else { return 0 };
    system.refresh_processes(sysinfo::ProcessesToUpdate::Some(&[pid]), false);
    system.process(pid).map_or(0, sysinfo::Process::memory)
}
