import { useQuery } from '@tanstack/react-query';
import { sessionQuery } from '../api/queries';

/** What the person's roles let them do. The service checks that itself; the console only leaves out what it would refuse. */
export function useRoles() {
  const roles = useQuery(sessionQuery).data?.roles ?? [];
  const isAdmin = roles.includes('admin');
  return {
    /** Changes settings. */
    isAdmin,
    /** Saves, approves and rejects orders. */
    isValidator: isAdmin || roles.includes('validator'),
    /** Reads settings, webhooks and the activity. */
    isReader: isAdmin || roles.includes('auditor'),
  };
}
