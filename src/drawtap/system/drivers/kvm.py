"""Virtual CPUs: kvm_entry and kvm_exit, or kvm_x86_entry and kvm_x86_exit as LTTng calls them."""

from drawtap.system.driver import Draft, driver


@driver("kvm", order=11)
def kvm(draft: Draft) -> None:
    """A thread that enters a guest is a virtual CPU; between entry and exit it is in the guest.

    The thread is the key. The field `vcpu_id` is not used: LTTng 2.13 writes garbage there on Linux 6.1.
    """
    if not draft.load("kvm", ("kvm_entry", "kvm_exit", "kvm_x86_entry", "kvm_x86_exit")):
        return
    draft.run(
        "INSERT INTO vcpus SELECT DISTINCT tid FROM ev_kvm WHERE event IN ('kvm_entry', 'kvm_x86_entry') AND tid > 0"
    )
    draft.spans(
        """
        SELECT 'vcpu/' || tid AS track, t AS begin_ns, next_t AS end_ns, 'guest' AS name, 'guest' AS kind, tid, cpu,
               false AS is_open
        FROM (
          SELECT *, lead(t) OVER w AS next_t, lead(event) OVER w AS next_event
          FROM ev_kvm WHERE tid > 0 WINDOW w AS (PARTITION BY tid ORDER BY t)
        ) WHERE event LIKE '%\\_entry' ESCAPE '\\' AND next_event LIKE '%\\_exit' ESCAPE '\\'
        """
    )
