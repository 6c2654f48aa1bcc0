/** On real ROS 2: who hears the commands of either side. */
import { serve } from '../harness/serve.js';
import { bareSubscriber, shutDown } from './ros.js';

serve(
  {
    open: async () => {
      await bareSubscriber();
    },
  },
  shutDown,
);
