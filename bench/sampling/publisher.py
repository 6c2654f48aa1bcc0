"""The publisher of one topic of the sampling benchmark: `publisher.py TYPE TOPIC HZ`. Answers each line on its standard input with
how many messages it has published; ends with its standard input."""

import os
import sys
import threading

import rclpy
from sensor_msgs.msg import Image, LaserScan, PointCloud2, PointField
from std_msgs.msg import String

POINT_BYTES = 16


def string():
    return String(data='x' * 100)


def scan():
    message = LaserScan(angle_min=-3.14, angle_max=3.14, angle_increment=6.28 / 720, range_max=30.0)
    message.header.frame_id = 'laser'
    message.ranges = [1.0 + 0.01 * n for n in range(720)]
    message.intensities = [100.0] * 720
    return message


def image():
    message = Image(width=640, height=480, encoding='rgb8', step=640 * 3)
    message.header.frame_id = 'camera'
    message.data = os.urandom(640 * 480 * 3)
    return message


def cloud():
    points = 1_000_000 // POINT_BYTES
    message = PointCloud2(height=1, width=points, point_step=POINT_BYTES, row_step=points * POINT_BYTES, is_dense=True)
    message.header.frame_id = 'lidar'
    message.fields = [
        PointField(name=name, offset=4 * n, datatype=PointField.FLOAT32, count=1)
        for n, name in enumerate(['x', 'y', 'z', 'intensity'])
    ]
    message.data = os.urandom(points * POINT_BYTES)
    return message


MESSAGES = {'String': string, 'LaserScan': scan, 'Image': image, 'PointCloud2': cloud}

type_name, topic, hz = sys.argv[1:]
message = MESSAGES[type_name]()
rclpy.init()
node = rclpy.create_node('sampled')
# Reliable, depth 10: what rclpy gives who asks for nothing else.
publisher = node.create_publisher(type(message), topic, 10)
published = 0


def publish():
    global published
    publisher.publish(message)
    published += 1


def answer():
    for _ in sys.stdin:
        print(published, flush=True)
    os._exit(0)


node.create_timer(1 / float(hz), publish)
threading.Thread(target=answer, daemon=True).start()
print('ready', flush=True)
rclpy.spin(node)
