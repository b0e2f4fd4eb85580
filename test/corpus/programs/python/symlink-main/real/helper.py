VALUE = "beside the real file"
